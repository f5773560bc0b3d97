"""Packages from npm that tests run."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

NODE, NPM = shutil.which("node"), shutil.which("npm")
needs_node = pytest.mark.skipif(not NODE, reason="needs node")
needs_npm = pytest.mark.skipif(not (NODE and NPM), reason="needs node and npm")


def npm_packages(folder: Path) -> Path:
    """Install the packages of a folder's package-lock.json, which git ignores."""
    packages, lock = folder / "node_modules", folder / "package-lock.json"
    with (folder / "package.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # one worker installs
        done = packages / ".of-lock"
        if not done.exists() or done.read_bytes() != lock.read_bytes():
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            installed = subprocess.run(command, cwd=folder, capture_output=True, check=False)
            if installed.returncode:
                pytest.skip(f"npm cannot install the packages of {folder.name}/package-lock.json")
            shutil.copyfile(lock, done)
    return packages
