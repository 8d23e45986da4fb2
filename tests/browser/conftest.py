"""A headless browser that is told of every request. Needs playwright and a Chromium on the machine."""

from __future__ import annotations

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def page(browser):
    """A page; `page.requests` lists every address asked for, `page.errors` what scripts raised."""
    made = browser.new_page(viewport={"width": 640, "height": 400})  # drawn without a graphics processor: keep it small
    made.requests, made.errors = [], []
    made.on("request", lambda request: made.requests.append(request.url))
    made.on("pageerror", lambda error: made.errors.append(str(error)))
    yield made
    made.close()
