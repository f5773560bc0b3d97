"""Measure nmt serve under load, on the loopback.

    python benchmarks/serve.py BUNDLE --text FILE [--limit N] [--load MINUTES] [--soak MINUTES]

Clients send single lines, each the next one as soon as it has its answer. Throughput is compared
with that of ``nmt translate`` on the same lines, start-up included, and latency with a server that
translates one line at a time. Every answer must equal nmt translate's. ``--load`` then sends texts
of 1 to 40 lines from 32 clients for a minute, and from 128 for MINUTES, whose 95th percentile may
take three times as long. ``--soak`` adds clients that hang up, read slowly, or send rubbish, texts
and documents that are costly to read, and checks that no answer is lost or mixed up and that memory
does not grow. Exits with 1 if a target is missed or an answer is wrong.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from machine import machine

CLIENTS = (1, 8, 32)
SHARE = 0.8  # of nmt translate's throughput, with the most clients
GROWTH = 1.2  # of memory during a soak
FEW, MANY = 32, 128  # clients with texts of mixed sizes
SLOWER = 3.0  # how much longer 95% of the texts of many clients may take
SIZES = (1, 1, 1, 1, 2, 5, 10, 40)  # lines
NMT = "from nmt_cli.cli import main; main()"
ONE_AT_A_TIME = f"import nmt_cli.serve.batcher as own; own.MAX_SENTENCES = 1; {NMT}"


@dataclass(frozen=True)
class Server:
    """A running server, and the languages of its model."""

    host: str
    port: int
    process: int
    source: str
    target: str

    def memory(self) -> int:
        """Its memory in bytes."""
        text = Path(f"/proc/{self.process}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", text)[1])  # type: ignore[index]


@contextmanager
def serving(bundle: Path, code: str, *words: str) -> Iterator[Server]:
    command = [sys.executable, "-c", code, "serve", str(bundle), "--port", "0", "--cache", "0"]
    # A file, not a pipe: a soak fills its log with complaints about bad requests.
    with (
        tempfile.NamedTemporaryFile("r") as log,
        open(log.name, "w") as stderr,
        subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, stderr=stderr) as process,
    ):
        while not (line := log.readline()).startswith("serving "):
            if process.poll() is not None:
                sys.exit(f"nmt serve failed: {Path(log.name).read_text()}")
            time.sleep(0.05)
        source, target, url = re.match(r"serving (.+)-(.+) at (\S+)", line).groups()  # type: ignore[union-attr]
        place = urlsplit(url)
        yield Server(str(place.hostname), place.port or 0, process.pid, source, target)
        process.terminate()


class Connection:
    """A client's connection, which is kept."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def __aenter__(self) -> "Connection":
        self.reader, self.writer = await asyncio.open_connection(
            self._server.host, self._server.port
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    def send(self, line: str) -> None:
        fields = {"q": line, "source": self._server.source, "target": self._server.target}
        self.send_raw(json.dumps(fields).encode())

    def send_raw(
        self, body: bytes, path: str = "/translate", kind: str = "application/json"
    ) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Type: {kind}\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def send_file(self, name: str, content: str) -> None:
        fields = {"source": self._server.source, "target": self._server.target}
        parts = [f'name="{key}"\r\n\r\n{value}' for key, value in fields.items()]
        parts.append(f'name="file"; filename="{name}"\r\n\r\n{content}')
        body = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts)
        kind = "multipart/form-data; boundary=x"
        self.send_raw(f"{body}--x--\r\n".encode(), "/translate_file", kind)

    async def answer(self, slowly: bool = False) -> tuple[int, dict[str, str]]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]
        body = b""
        while len(body) < length:
            if slowly:
                await asyncio.sleep(0.05)
            body += await self.reader.read(7 if slowly else length - len(body))
        return int(head.split()[1]), json.loads(body)


async def load(
    server: Server, lines: list[str], expected: list[str], clients: int
) -> tuple[float, list[float]]:
    """Seconds for all lines, and of each."""
    places, took = iter(range(len(lines))), list[float]()

    async def client() -> None:
        async with Connection(server) as connection:
            for index in places:
                began = time.perf_counter()
                connection.send(lines[index])
                status, body = await connection.answer()
                took.append(time.perf_counter() - began)
                if (status, body.get("translatedText")) != (200, expected[index]):
                    sys.exit(f"line {index + 1}: {status} {body}")

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - began, took


async def mixed_load(
    server: Server, lines: list[str], expected: list[str], clients: int, minutes: float
) -> tuple[int, int, float]:
    """The numbers of right and of wrong answers to texts of mixed sizes, and their 95th percentile
    in seconds."""
    end, rng, counts, took = time.monotonic() + 60 * minutes, random.Random(2), [0, 0], []

    async def client() -> None:
        async with Connection(server) as connection:
            while time.monotonic() < end:
                first, size = rng.randrange(len(lines)), rng.choice(SIZES)
                connection.send("\n".join(lines[first : first + size]))
                began = time.perf_counter()
                status, body = await connection.answer()
                took.append(time.perf_counter() - began)
                text = "\n".join(expected[first : first + size])
                counts[(status, body.get("translatedText")) == (200, text)] += 1

    await asyncio.gather(*(client() for _ in range(clients)))
    return counts[1], counts[0], sorted(took)[int(0.95 * len(took))]


def is_fair(server: Server, lines: list[str], expected: list[str], minutes: float) -> bool:
    """Whether many clients get right answers, and do not wait too long."""
    waits = []
    print(f"\n| clients, texts of {min(SIZES)} to {max(SIZES)} lines | right | wrong | p95, s |")
    print("|---|---|---|---|")
    for clients, duration in ((FEW, 1.0), (MANY, minutes)):
        right, wrong, wait = asyncio.run(mixed_load(server, lines, expected, clients, duration))
        print(f"| {clients}, {duration:g} minutes | {right:,} | {wrong:,} | {wait:.1f} |")
        waits.append(wait)
        if wrong:
            return False
    return waits[1] <= SLOWER * waits[0]


async def soak(server: Server, lines: list[str], expected: list[str], minutes: float) -> bool:
    """Bad clients beside good ones; whether all answers were right and memory stayed."""
    end, rng, counts, first = time.monotonic() + 60 * minutes, random.Random(1), [0, 0], 0

    async def good(slowly: bool) -> None:
        async with Connection(server) as connection:
            while time.monotonic() < end:
                index = rng.randrange(len(lines))
                connection.send(lines[index])
                status, body = await connection.answer(slowly)
                counts[status == 200 and body["translatedText"] == expected[index]] += 1

    half = b"POST /translate HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"
    hostile: list[Callable[[Connection], None]] = [
        lambda client: client.send(rng.choice(lines)),  # and hangs up
        lambda client: client.writer.write(rng.randbytes(200)),
        lambda client: client.writer.write(b"GET /health HTTP/1.1\r\nHost"),
        lambda client: client.writer.write(half),
        lambda client: client.send_raw(rng.randbytes(200)),
        lambda client: client.send_raw(json.dumps({"q": [""] * 200_000}).encode()),
        lambda client: client.send("\ud800"),
        lambda client: client.send_file("a.srt", ("1:" + "1" * 200) * 12),
        lambda client: client.send_file("a.md", 1200 * "{a} "),
    ]

    async def bad() -> None:
        while time.monotonic() < end:
            async with Connection(server) as connection:
                rng.choice(hostile)(connection)
                with suppress(OSError):
                    await connection.writer.drain()
                await asyncio.sleep(0.02)

    async def watch() -> None:
        nonlocal first
        await asyncio.sleep(60 * minutes / 5)
        first = server.memory()

    groups = [*(good(False) for _ in range(4)), *(good(True) for _ in range(4)), bad(), bad()]
    await asyncio.gather(watch(), *groups)
    last, wrong = server.memory(), counts[0]
    print(
        f"\nSoak of {minutes:g} minutes: {counts[1]:,} right answers, {wrong:,} wrong; memory "
        f"{first / 2**20:.0f} MiB after a fifth of it, {last / 2**20:.0f} MiB at the end"
    )
    return not wrong and last <= GROWTH * first


def translated(bundle: Path, lines: list[str], threads: list[str]) -> tuple[float, list[str]]:
    """Seconds of nmt translate, and its lines."""
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place, "in"), Path(place, "out")
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        command = [sys.executable, "-c", NMT, "translate", str(source), "-m", str(bundle)]
        began = time.perf_counter()
        subprocess.run([*command, "-o", str(target), *threads], check=True, capture_output=True)
        seconds = time.perf_counter() - began
        return seconds, target.read_text(encoding="utf-8").split("\n")[:-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--load", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--soak", type=float, default=0, metavar="MINUTES")
    options = parser.parse_args()
    lines = [line for line in options.text.read_text(encoding="utf-8").split("\n") if line.strip()]
    lines = lines[: options.limit]
    print(machine())
    speeds, rates = list[float](), dict[tuple[str, int], list[float]]()
    latencies: dict[tuple[str, int], list[float]] = {}
    fine = True
    with (
        serving(options.bundle, NMT) as batching,
        serving(options.bundle, ONE_AT_A_TIME, "--threads", "1") as single,
    ):
        for _ in range(options.repeats):
            seconds, expected = translated(options.bundle, lines, [])
            speeds.append(len(lines) / seconds)
            for name, server in (("batches", batching), ("one at a time", single)):
                for clients in CLIENTS:
                    took, waits = asyncio.run(load(server, lines, expected, clients))
                    rates.setdefault((name, clients), []).append(len(lines) / took)
                    latencies.setdefault((name, clients), []).extend(waits)
        speed = statistics.median(speeds)
        print(f"\nnmt translate: {speed:.0f} lines/s ({min(speeds):.0f}-{max(speeds):.0f})\n")
        print("| server | clients | lines/s | of nmt translate | p50, ms | p95, ms |")
        print("|---|---|---|---|---|---|")
        for (name, clients), measured in rates.items():
            rate, times = statistics.median(measured), sorted(latencies[name, clients])
            half, most = (1000 * times[int(share * len(times))] for share in (0.5, 0.95))
            print(
                f"| {name} | {clients} | {rate:.0f} ({min(measured):.0f}-{max(measured):.0f}) | "
                f"{rate / speed:.2f} | {half:.0f} | {most:.0f} |"
            )
        fine = statistics.median(rates["batches", CLIENTS[-1]]) >= SHARE * speed
        if options.load:
            fine &= is_fair(batching, lines, expected, options.load)
        if options.soak:
            fine &= asyncio.run(soak(batching, lines, expected, options.soak))
    sys.exit(not fine)


if __name__ == "__main__":
    main()
