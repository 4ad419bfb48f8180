"""A headless Chromium and what a test of a page does with it, over the DevTools protocol's pipe.

Only the standard library. `Browser()` starts it, `Page` is one tab: it collects what the console
and the network complain of, evaluates expressions, waits for them, presses keys, takes pictures.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self, *arguments):
        self._profile = tempfile.mkdtemp(prefix="catamaran_chromium_")
        their_in, self._write = os.pipe()
        self._read, their_out = os.pipe()

        def place_pipes():  # they are 3 and 4 there
            high_in, high_out = os.dup(their_in), os.dup(their_out)
            spare = [os.dup(high_in), os.dup(high_out)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self._process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--remote-debugging-pipe", "--no-first-run",
             f"--user-data-dir={self._profile}", "--disable-gpu", "--no-sandbox",
             "--disable-dev-shm-usage", "--disable-background-networking", "--mute-audio",
             "--hide-scrollbars", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=place_pipes)
        os.close(their_in)
        os.close(their_out)
        self._next = 0
        self._answers = {}
        self._arrived = threading.Condition()
        self.pages = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        left = b""
        while chunk := os.read(self._read, 1 << 16):
            *messages, left = (left + chunk).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if "id" in message:
                    with self._arrived:
                        self._answers[message["id"]] = message
                        self._arrived.notify_all()
                elif page := self.pages.get(message.get("sessionId")):
                    page.happened(message["method"], message["params"])

    def call(self, method, session=None, **params):
        with self._arrived:
            self._next += 1
            number = self._next
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        with self._arrived:
            if not self._arrived.wait_for(lambda: number in self._answers, 60):
                raise TimeoutError(f"chromium does not answer {method}")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, TimeoutError, RuntimeError):
            self._process.kill()
        self._process.wait(20)
        shutil.rmtree(self._profile, ignore_errors=True)


class Page:
    def __init__(self, browser, width=1280, height=1000, dark=False):
        self._browser = browser
        self.complaints = []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target,
                                     flatten=True)["sessionId"]
        browser.pages[self._session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.resize(width, height)

    def call(self, method, **params):
        return self._browser.call(method, session=self._session, **params)

    def happened(self, method, params):
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(f"console: {params['args']}")
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {params['exceptionDetails']}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            entry = params["entry"]
            self.complaints.append(f"log: {entry['text']} {entry.get('url', '')}")

    def resize(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        """The expression's value once it is true."""
        end = time.monotonic() + seconds
        while True:
            value = None
            try:
                value = self.value(expression)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"did not become true in {seconds} s: {expression}")
            time.sleep(0.1)

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

    def picture(self, path, height=None):
        clip = {}
        if height:
            width = self.value("innerWidth")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
                    "captureBeyondViewport": True}
        data = self.call("Page.captureScreenshot", format="png", **clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
