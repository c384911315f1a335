#!/usr/bin/env bash
# Run a command in the environment of .venv, with its ROS: tools/env.sh python -c 'import rclpy'
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
venv=${tools%/*}/.venv

if [ ! -x "$venv/bin/python" ]; then
    echo "env: there is no .venv yet; run: make setup" >&2
    exit 1
fi

if [ "$(cat "$venv/.ros" 2> /dev/null || echo wheels)" = wheels ]; then
    # The wheels' own start-up hook would find these by starting every Python twice.
    libraries=$(printf '%s:' "$venv/lib" "$venv"/lib/python3*/site-packages/ros_*.libs)
    export LD_LIBRARY_PATH=${libraries%:}
    export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
    export AMENT_PREFIX_PATH=$venv
    export PYTHONPATH=$venv/src
else
    export AMENT_PREFIX_PATH=$venv${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}
    export PYTHONPATH=$venv/src${PYTHONPATH:+:$PYTHONPATH}
fi
export VIRTUAL_ENV=$venv
export PATH=$venv/bin:$PATH
# Nothing leaves this machine, unless the user chose otherwise.
if [ -z "${ROS_LOCALHOST_ONLY:-}" ]; then
    export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}
fi

exec "$@"
