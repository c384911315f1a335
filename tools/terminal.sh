#!/usr/bin/env bash
# Run a command that has the terminal to itself: Ctrl-C ends it, and not the make that called it.
set -euo pipefail

read -r _ _ _ _ group _ _ foreground _ < /proc/$$/stat
if [ "$group" = "$foreground" ]; then
    set -m # job control: what runs next becomes the foreground of the terminal
    "$@"
else
    exec "$@" # in the background, or without a terminal
fi
