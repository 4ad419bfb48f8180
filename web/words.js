// Numbers as people read them. What is not known is a dash.

export const UNKNOWN = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

export function plain(value) {
  if (!known(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= 1e10) return (value / 1e9).toFixed(1) + " G";
  if (size >= 1e7) return (value / 1e6).toFixed(1) + " M";
  if (size >= 1000) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
  if (Number.isInteger(value)) return String(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export const rate = (value) => (known(value) ? plain(value) + "/s" : UNKNOWN);

export function bytes(value) {
  if (!known(value)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (Math.abs(value) >= 1024 && i < units.length - 1) {
    value /= 1024;
    ++i;
  }
  return (i === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)) + " " + units[i];
}

export function seconds(value) {
  if (!known(value)) return UNKNOWN;
  if (value === 0) return "0 s";
  if (value < 1e-3) return (value * 1e6).toFixed(0) + " µs";
  if (value < 1) return (value * 1e3).toPrecision(3) + " ms";
  return value.toPrecision(3) + " s";
}

export function duration(value) {
  if (!known(value)) return UNKNOWN;
  const all = Math.floor(value);
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => all >= size);
  if (first < 0) return "0 s";
  const [size, name] = parts[first];
  const text = `${Math.floor(all / size)} ${name}`;
  if (first === parts.length - 1) return text;
  const [less, lessName] = parts[first + 1];
  const rest = Math.floor((all % size) / less);
  return rest > 0 ? `${text} ${rest} ${lessName}` : text;
}

export const share = (value) => (known(value) ? value.toFixed(4) : UNKNOWN);

export const percent = (part) => (known(part) ? (part * 100).toPrecision(2) + " %" : UNKNOWN);
