"""A page goes in, and a real browser that shows it can be asked and driven: Chromium by its driver, over HTTP.

    with browser(folder, width=1200, height=800) as page:
        page.open(path);  page.ask("return document.title");  page.hover(x, y);  page.press("Enter")

Both programs are looked for on the path; `MISSING` says what is not there.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
MISSING = "needs Chromium and its driver" if BROWSER is None or DRIVER is None else ""
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowDown": "\ue015", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
        "ArrowLeft": "\ue012", "Home": "\ue011", "End": "\ue010", "PageDown": "\ue00f", "Tab": "\ue004"}


class Page:
    """A window of the browser."""

    def __init__(self, address: str, session: str) -> None:
        self._address, self._session = address, session

    def call(self, method: str, what: str, body: dict[str, Any] | None = None) -> Any:
        return call(f"{self._address}/session/{self._session}", method, what, body)

    def open(self, path: Path) -> None:
        self.call("POST", "/url", {"url": path.as_uri()})

    def ask(self, script: str, *args: Any) -> Any:
        """What a script returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": args})

    def tell(self, command: str, **params: Any) -> Any:
        """A command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def _pointer(self, x: float, y: float, *more: dict[str, Any]) -> None:
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y), "origin": "viewport"}
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move, *more]}
        self.call("POST", "/actions", {"actions": [pointer]})

    def hover(self, x: float, y: float) -> None:
        self._pointer(x, y)

    def click(self, x: float, y: float) -> None:
        self._pointer(x, y, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def press(self, *keys: str) -> None:
        """Press and let go keys: one character, or the name of one."""
        codes = [KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": code} for code in codes for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def picture(self, path: Path) -> Path:
        """What the window shows, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))
        return path

    def errors(self) -> list[str]:
        """What the page has complained about since this was asked last."""
        return [each["message"] for each in self.call("POST", "/se/log", {"type": "browser"})]


def call(address: str, method: str, what: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + what, data, {"Content-Type": "application/json"}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=120) as answer:
            return json.loads(answer.read())["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(json.loads(error.read())["value"]["message"]) from None


@contextmanager
def browser(folder: Path, width: int = 1400, height: int = 900, dark: bool = False) -> Iterator[Page]:
    """A window of these sizes, with a profile in the folder."""
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}"]
    chrome = {"binary": BROWSER, "args": [*words, f"--window-size={width},{height}", "--hide-scrollbars"]}
    wanted = {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
    started = subprocess.Popen([str(DRIVER), "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert started.stdout is not None
    try:
        port = next(found[1] for line in started.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        address = f"http://127.0.0.1:{port}"
        session = call(address, "POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        page = Page(address, session)
        try:
            scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
            page.tell("Emulation.setEmulatedMedia", features=scheme)
            sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            page.tell("Emulation.setDeviceMetricsOverride", **sizes)
            yield page
        finally:
            call(address, "DELETE", f"/session/{session}")
    finally:
        started.terminate()
        started.wait(30)
        started.stdout.close()


__all__ = ["BROWSER", "MISSING", "Page", "browser"]
