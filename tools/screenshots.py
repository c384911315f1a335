"""
Make the pictures of the panel that the pages show: ``make screenshots``.

The demo runs for real, the page is drawn by Debian's Chromium.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'test'))
import browser  # noqa: E402


def main() -> int:
    """Run the command; return its exit code."""
    options = argparse.ArgumentParser(prog='screenshots.py', description=__doc__)
    options.add_argument('--out', type=Path, default=ROOT / 'doc' / 'panel.png')
    options.add_argument('--demo', default='wheels')
    options.add_argument('--seconds', type=float, default=14.0, help='of the plots')
    chosen = options.parse_args()
    if why := browser.missing():
        print(f'screenshots: {why}', file=sys.stderr)
        return 1
    command = [sys.executable, str(ROOT / 'tools' / 'demo.py'), '--view', '--demo', chosen.demo]
    demo = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert demo.stdout is not None
        for line in demo.stdout:
            if found := re.search(r'http://\S+', line):
                break
        else:
            print('screenshots: the demo has not started.', file=sys.stderr)
            return 1
        time.sleep(8.0)  # until the server is there
        with browser.opened(found[0], 1400, 1200) as (page, _):
            page.get_by_text('stepping').first.wait_for(timeout=60_000)
            if (note := page.get_by_text('Software WebGL rendering detected')).count():
                note.locator('xpath=ancestor::*[@role="alert"]//button').click()
            time.sleep(chosen.seconds)
            page.screenshot(path=chosen.out)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=30)
    print(f'{chosen.out} is made.')
    return 0


if __name__ == '__main__':
    sys.exit(main())
