// The calls that the page makes. Each carries the token, if there is one, in a header: no other
// page can send that, and there are no cookies that a browser would add by itself.

const KEY = "catamaran-token";

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function setToken(token) {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}

async function call(method, path, body) {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = "Bearer " + token;
  let response;
  try {
    response = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store", credentials: "omit", redirect: "error",
      signal: AbortSignal.timeout(method === "GET" ? 10000 : 120000),
    });
  } catch {
    throw new Refusal(0, "the server does not answer");
  }
  const text = await response.text();
  if (response.ok) return text;
  let message = text;
  try {
    message = JSON.parse(text).error;
  } catch { /* it is no JSON: as it is */ }
  throw new Refusal(response.status, message || `the server answered ${response.status}`);
}

const model = (name) => "v1/models/" + encodeURIComponent(name);

// line: "seconds" or "minutes".
export const overview = async (line, since) =>
  JSON.parse(await call("GET", `v1/overview?minutes=${line === "minutes" ? 1 : 0}&since=${since}`));
export const program = (name, version) =>
  call("GET", `${model(name)}/versions/${encodeURIComponent(version)}/program`);
// what: "commit", "pause", "resume" or "rollback".
export const tell = async (name, what, body = {}) =>
  JSON.parse(await call("POST", `${model(name)}/${what}`, body));
