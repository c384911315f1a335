"""A page in Debian's Chromium, without a screen; a reason where that cannot be."""

from contextlib import contextmanager
import shutil

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
# Software draws the scene; nothing asks for anything beyond this machine.
ARGUMENTS = [
    '--no-sandbox',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--ignore-gpu-blocklist',
]


def missing():
    """Return why there is no browser, '' where there is one."""
    try:
        import playwright  # noqa: F401
    except ImportError as error:
        return f'needs the package playwright ({error})'
    return '' if CHROMIUM else "needs Chromium: Debian's package chromium"


@contextmanager
def opened(url, width=900, height=600):
    """Open a page; yields it and a list that what goes wrong in it is added to."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            page = browser.new_page(viewport={'width': width, 'height': height})
            page.set_default_timeout(90_000)  # software draws, on a core that others want too
            wrong = []
            page.on('console', lambda said: wrong.append(said.text) if is_error(said) else None)
            page.on('pageerror', lambda error: wrong.append(str(error)))
            page.goto(url)
            yield page, wrong
        finally:
            browser.close()


def is_error(said):
    """Tell whether the page complains; that a server it knew is gone is no fault of it."""
    return said.type == 'error' and 'WebSocket connection to' not in said.text
