#!/usr/bin/env python3
"""web/page_test.py CATAMARAN [--pictures DIR]: the page in a real browser, over a real service.

A small model is served and learns from traffic that this test makes; headless Chromium loads the
page, sees it change, presses its buttons by mouse and by keyboard, and complains of nothing.
"""

import argparse
import contextlib
import http.client
import http.server
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from browser import Browser, Page, find_chromium

PROGRAM = """\
// Who likes what: the model of the page's test.
program taste

table @liking : u64 -> f32[4] = normal(std=0.1) {
  features  = [person, story]
  optimizer = rowwise_adagrad(lr=0.1)
}
param @base : f32[] = -0.5
param @late : f32[] = zeros

fn infer(person: u64[B], story: u64[B], hour: f32[B]) -> (probability: f32[B]) {
  match = lookup(@liking, person, feature=person) * lookup(@liking, story, feature=story)
  return sigmoid(sum(match, axes=[1]) + @base + @late * hour)
}
fn loss(person: u64[B], story: u64[B], hour: f32[B], click: f32[B]) -> (loss: f32[]) {
  return mean(binary_cross_entropy(infer(person, story, hour), click))
}
train = adam(grad(loss), lr=0.01)
"""


class Service:
    """`catamaran serve` on a free port."""

    def __init__(self, binary, directory, *options):
        os.makedirs(directory)
        program = os.path.join(directory, "taste.ctm")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.process = subprocess.Popen(
            [binary, "serve", program, "--learn", "--data-dir", os.path.join(directory, "data"),
             "--http", "127.0.0.1:0", "--grpc", "off", "--set", "batch_wait=20ms",
             "--set", "frozen=yes", "--set", "frozen_share=1", "--log-level", "error", *options],
            stdout=subprocess.PIPE, text=True)
        self.port = None
        for line in self.process.stdout:
            if found := re.match(r"HTTP +https?://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
            if line.startswith("ready"):
                break
        if self.port is None:
            raise RuntimeError("catamaran serve did not start")
        self.url = f"http://127.0.0.1:{self.port}/"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Traffic(threading.Thread):
    """People who look at stories, and click."""

    def __init__(self, port, token=None):
        super().__init__(daemon=True)
        self._port, self._stop_wanted, self.problem = port, threading.Event(), None
        self._headers = {"Authorization": "Bearer " + token} if token else {}
        self.start()

    def run(self):
        rand = random.Random(7)
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)

        def post(path, body):
            connection.request("POST", path, json.dumps(body), self._headers)
            response = connection.getresponse()
            text = response.read()
            if response.status != 200:
                raise RuntimeError(f"{path}: {response.status} {text}")
            return json.loads(text)

        try:
            while not self._stop_wanted.is_set():
                rows = rand.choice([1, 4, 8])
                people = [rand.randrange(50) for _ in range(rows)]
                stories = [int(rand.paretovariate(1)) for _ in range(rows)]
                answer = post("/v2/models/taste/infer", {"inputs": [
                    {"name": "person", "shape": [rows], "datatype": "UINT64", "data": people},
                    {"name": "story", "shape": [rows], "datatype": "UINT64", "data": stories},
                    {"name": "hour", "shape": [1], "datatype": "FP32", "data": [rand.random()]}]})
                post("/v1/models/taste/feedback", {"items": [
                    {"id": answer["id"], "row": row,
                     "value": float(rand.random() < (0.75 if math.sin(p * 3 + s * 5) > 0 else 0.1))}
                    for row, (p, s) in enumerate(zip(people, stories))]})
                time.sleep(0.004)
        except Exception as error:  # told by the test
            self.problem = error
        connection.close()

    def stop(self):
        self._stop_wanted.set()
        self.join(30)
        if self.problem:
            raise self.problem


def tile(name):
    return (f"[...document.querySelectorAll('#tiles > div')]"
            f".find((d) => d.children[0].textContent === '{name}')?.children[1].textContent")


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def tell(text):
    print(f"  {text}", flush=True)


ANSWER = "document.getElementById('answer').textContent"
CURVE = "document.querySelector('#charts path.curve')?.getAttribute('d')"


def shows_the_model_and_updates(page, service):
    page.open(service.url)
    page.wait("document.getElementById('ready').textContent === 'ready'")
    page.wait("document.getElementById('name').textContent === 'taste'")
    page.wait(f"Number({tile('step')}?.replaceAll('\\u202f', '')) > 0")
    page.wait("document.getElementById('tables').textContent.includes('@liking')")
    before, curve = page.value(tile("answered")), page.wait(CURVE)
    page.wait(f"{tile('answered')} !== '{before}' && {CURVE} !== '{curve}'")
    page.wait(f"/ms|µs/.test({tile('latency p99')}) && /[0-9]/.test({tile('AUC')})")
    foreign = page.value("performance.getEntriesByType('resource').map((e) => e.name)"
                         ".filter((n) => !n.startsWith(location.origin) && !n.startsWith('data:'))")
    check(foreign == [], f"it loaded {foreign}")
    page.wait(f"/[0-9]/.test({tile('AUC, frozen')}) && /[0-9]/.test({tile('AUC, live')})")
    page.wait("[...document.querySelectorAll('#charts figure')].some((f) => "
              "f.textContent.includes('Live against frozen AUC') && f.checkVisibility())")
    page.wait(f"/^[0-9]/.test({tile('drift alarms')})")
    page.wait("document.getElementById('features').textContent.includes('hour')")
    tell("loads and updates live, from this server alone")


def buttons_work(page):
    page.value("document.getElementById('commit').click()")
    page.wait(f"/commit [0-9]+ holds step [0-9]+/.test({ANSWER})")
    page.wait("document.getElementById('commits').options.length > 0")
    first = page.value("document.getElementById('commits').options[0].value")

    # By keyboard.
    page.value("document.getElementById('pause').focus()")
    page.press("Enter", 13, "\r")
    page.wait("document.getElementById('version').textContent.includes('paused')")
    page.wait("document.getElementById('pause').checkVisibility() === false")
    time.sleep(1.5)
    step = page.value(tile("step"))
    time.sleep(2)
    check(page.value(tile("step")) == step, "it learned while it was paused")
    page.value("document.getElementById('resume').focus()")
    page.press(" ", 32, " ")
    page.wait("!document.getElementById('version').textContent.includes('paused')")
    page.wait(f"{tile('step')} !== '{step}'")

    page.value("document.getElementById('commit').click()")
    page.wait(f"document.getElementById('commits').options[0].value !== '{first}'")
    page.value(f"document.getElementById('commits').value = '{first}'")
    page.value("document.getElementById('rollback').click()")
    page.wait("document.getElementById('rollback-dialog').open")
    page.press("Escape", 27)
    page.wait("!document.getElementById('rollback-dialog').open")
    page.value("document.getElementById('rollback').click()")
    page.value("document.querySelector('#rollback-dialog button[value=yes]').click()")
    page.wait(f"{ANSWER}.startsWith('back at commit {first},')")
    tell("commit, pause, resume and roll back work, by mouse and by keyboard")


def program_is_shown(page):
    page.value("document.querySelector('#program-section summary').click()")
    page.wait("document.getElementById('program').textContent.includes('table @liking')")
    count = PROGRAM.count("\n")
    check(page.value("document.querySelectorAll('#program .number').length") == count,
          "the program's lines are not all numbered")
    line = PROGRAM[:PROGRAM.index("  match =")].count("\n")
    page.wait(f"/[µm]?s .*%/.test(document.querySelectorAll('#program .time')[{line}].textContent)")
    check(page.value("document.querySelectorAll('#program .time')[0].textContent") == "",
          "a comment takes time")
    page.value("document.querySelector('#program-section summary').click()")
    tell("shows the program, and what its lines take")


def keyboard_reaches_everything(page):
    page.value("document.activeElement.blur()")
    wanted = {"theme", "token-button", "commit", "pause", "commits", "rollback", "svg", "summary"}
    reached = set()
    for _ in range(60):
        page.press("Tab", 9)
        reached.add(page.value("document.activeElement.id || document.activeElement.localName"))
    check(wanted <= reached, f"the keyboard does not reach {wanted - reached}")
    page.value("document.querySelector('#charts svg').focus()")
    page.press("ArrowLeft", 37)
    page.wait("document.querySelector('#charts svg .cursor') !== null")
    page.value("document.activeElement.blur()")
    tell("all of it can be reached by keyboard")


def fits_a_phone_and_the_dark(page):
    page.resize(360, 740, mobile=True)
    time.sleep(0.5)
    width = page.value("document.documentElement.scrollWidth")
    check(width <= 360, f"on a phone it is {width} wide")
    page.resize(1280, 1000)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.value(colour)
    page.value("document.getElementById('theme').click()")
    check(page.value(colour) != light, "dark is as light")
    page.value("document.getElementById('theme').click()")
    check(page.value(colour) == light, "light does not come back")
    tell("fits a phone; light and dark")


def other_pages_cannot_press(browser, service):
    def refused():
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return int(re.search(r'catamaran_requests_total\{protocol="http",call="Pause",'
                             r'code="PERMISSION_DENIED"\} (\d+)', text)[1])

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><link rel=icon href='data:,'>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = Page(browser)
    page.open(f"http://127.0.0.1:{server.server_address[1]}/")
    page.wait("document.title === 'elsewhere'")
    before = refused()
    page.value(f"fetch('{service.url}v1/models/taste/pause', "
               "{method: 'POST', body: '{}', mode: 'no-cors'}).then(() => 1, () => 1)")
    check(refused() == before + 1, "a page from elsewhere could pause learning")
    page.value("new Promise((done) => { const f = document.createElement('iframe'); "
               f"f.src = '{service.url}'; f.onload = () => done(1); document.body.append(f); }})")
    framed = page.value("document.querySelector('iframe').contentDocument === null")
    check(framed, "the frame can be looked into")
    server.shutdown()
    tell("a page from elsewhere is refused")


def tokens_have_rights(binary, directory, browser):
    os.makedirs(directory)
    tokens = os.path.join(directory, "tokens.txt")
    with open(tokens, "w", encoding="utf-8") as file:
        file.write("web infer,learn web-secret-1\nboss admin boss-secret-2\n")
    service = Service(binary, os.path.join(directory, "model"), "--tokens", tokens)
    traffic = Traffic(service.port, "web-secret-1")
    page = Page(browser)

    def use(token):
        page.wait("document.getElementById('token-dialog').open")
        page.value(f"document.getElementById('token').value = '{token}'")
        page.value("document.querySelector('#token-dialog button[value=use]').click()")

    page.open(service.url)
    use("wrong")
    use("web-secret-1")
    page.wait("document.getElementById('name').textContent === 'taste'")
    page.wait(f"{tile('step')} !== '0'")
    page.value("document.getElementById('commit').click()")
    page.wait("document.getElementById('answer').className === 'bad'")
    use("boss-secret-2")
    time.sleep(0.5)
    page.value("document.getElementById('commit').click()")
    page.wait(f"/commit [0-9]+ holds step [0-9]+/.test({ANSWER})")
    unexpected = [c for c in page.complaints if "status of 40" not in c]
    check(unexpected == [], f"complaints: {unexpected}")
    traffic.stop()
    service.stop()
    page.wait("document.getElementById('ready').textContent === 'no answer'")
    tell("tokens are asked for, and each has its rights; a server that goes away is told")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catamaran")
    parser.add_argument("--pictures", help="a directory for what it looked like")
    options = parser.parse_args()
    if not find_chromium():
        print("page_test: skipped: there is no chromium here (tools/setup --page installs it)")
        return 0
    with tempfile.TemporaryDirectory(prefix="catamaran_page_") as directory, \
            contextlib.ExitStack() as ends:
        service = Service(options.catamaran, os.path.join(directory, "open"))
        ends.callback(service.process.kill)
        traffic = Traffic(service.port)
        browser = Browser()
        ends.callback(browser.close)
        page = Page(browser)
        shows_the_model_and_updates(page, service)
        buttons_work(page)
        program_is_shown(page)
        keyboard_reaches_everything(page)
        fits_a_phone_and_the_dark(page)
        if options.pictures:
            os.makedirs(options.pictures, exist_ok=True)
            time.sleep(45)
            page.value("document.getElementById('program-section').open = true")
            time.sleep(2)
            page.picture(os.path.join(options.pictures, "page.png"), height=2370)
            page.value("document.getElementById('theme').click()")
            page.resize(390, 844, mobile=True)
            time.sleep(1.5)
            page.picture(os.path.join(options.pictures, "phone.png"), height=1600)
        check(page.complaints == [], f"complaints: {page.complaints}")
        tell("no errors on the console")
        other_pages_cannot_press(browser, service)
        traffic.stop()
        service.stop()
        tokens_have_rights(options.catamaran, os.path.join(directory, "tokens"), browser)
    print("page_test: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
