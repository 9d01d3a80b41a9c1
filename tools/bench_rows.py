"""Times building a set from many evaluations: on one machine, and by two executors of a cluster on the same machine.

bench_rows.py LAB INPUTS WORK ROWS [MEMORY]: LAB is the program tabia-lab, INPUTS the program that makes input (the example
bench_input of tabia-data), WORK a folder for what is made, ROWS a number such as 100M, MEMORY a limit such as 4GiB.

Memory is the peak of a process (of the largest, on a cluster), disk the peak of what is spilled and written beside the input.
The last columns say how many hours, and how many of processor time, 844 million rows take at the same speed: as many as
Learning a Chess Policy has. On a machine that does other work, only processor time can be compared.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

FILES = 16
FULL = 844_000_000
SCHEDULER = "127.0.0.1:50950"


def number(text):
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    return int(float(text[:-1]) * units[text[-1].upper()]) if text[-1].upper() in units else int(text)


def size(folder):
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


class DiskPeak:
    """The most that a folder held while this lived."""

    def __init__(self, folder):
        self.folder, self.peak, self.ended = folder, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.ended.wait(2):
            self.peak = max(self.peak, size(self.folder))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def wait(child):
    """The processor seconds of a process and its peak memory in bytes."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    scale = 1 if sys.platform == "darwin" else 1 << 10
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale


def build(lab, rows, folder, memory, executors):
    """Builds a set, on a cluster if there are executors; gives seconds, processor seconds, memory, disk and the set's size."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command = [lab, "data", "build", rows, "--out", folder / "set", "--memory", memory]
    services = []
    if executors:
        host, port = SCHEDULER.split(":")
        services.append(subprocess.Popen([lab, "cluster", "scheduler", "--bind", host, "--port", port]))
        for number in range(executors):
            work = folder / f"executor-{number}"
            work.mkdir()
            options = ["--scheduler", SCHEDULER, "--slots", "1", "--memory", memory, "--work-dir", work]
            services.append(subprocess.Popen([lab, "cluster", "executor", *options]))
        time.sleep(5)
        command += ["--cluster", SCHEDULER]
    with DiskPeak(folder) as disk:
        begin = time.monotonic()
        child = subprocess.Popen(command)
        cpu, peak = wait(child)
        wall = time.monotonic() - begin
    for service in reversed(services):
        service.send_signal(signal.SIGTERM)
        more, other = wait(service)
        cpu, peak = cpu + more, max(peak, other)
    if child.returncode != 0:
        sys.exit(f"the build ended with {child.returncode}")
    made = size(folder / "set")
    shutil.rmtree(folder)
    return wall, cpu, peak, disk.peak, made


def main():
    lab, inputs, work = (Path(argument) for argument in sys.argv[1:4])
    count = number(sys.argv[4])
    memory = sys.argv[5] if len(sys.argv) > 5 else "4GiB"
    work.mkdir(parents=True, exist_ok=True)
    rows = work / "rows"
    if not rows.exists():
        part = work / "rows.part"
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run([inputs, "random-rows", str(count), part, str(FILES)], check=True)
        part.rename(rows)
    given = f"{count:,} rows in {FILES} files, {size(rows) / 1e9:.1f} GB"
    print(f"{given}; --memory {memory}; {os.cpu_count()} processors", flush=True)
    lines = []
    for name, executors in [("one process", 0), ("two executors", 2)]:
        wall, cpu, peak, disk, made = build(lab, rows, work / "build", memory, executors)
        hours, cpu_hours = (seconds * FULL / count / 3600 for seconds in (wall, cpu))
        measured = f"{name:14}{wall:8.0f}{cpu:8.0f}{count / wall:12,.0f}{count / cpu:14,.0f}"
        space = f"{peak / 1e9:9.2f}{disk / 1e9:9.1f}{made / 1e9:9.2f}"
        lines.append(f"{measured}{space}{hours:10.1f}{cpu_hours:12.2f}")
        print(lines[-1], flush=True)
    shutil.rmtree(rows)
    head = f"{'':14}{'wall s':>8}{'cpu s':>8}{'rows/s':>12}{'rows/cpu s':>14}{'peak GB':>9}{'disk GB':>9}{'set GB':>9}"
    print(f"\n{head}{'844M, h':>10}{'844M, cpu h':>12}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
