#!/usr/bin/env python3
"""Prints vectors.txt: what zlib itself makes of generated inputs (see input in vectors_test.go).

One line a vector: kind seed size level length-of-output sha256-of-output; and `raw hex-input level hex-output`.
"""
import hashlib
import zlib

WORDS = [b"the ", b"revision ", b"leaf ", b"of ", b'{"_id":"', b'","value":', b"winner ", b"\n", b"stub ", b"0123456789 "]


class Random:
    def __init__(self, seed):
        self.x = seed

    def next(self):
        self.x = (self.x * 1103515245 + 12345) & 0x7FFFFFFF
        return self.x >> 12


def piece(kind, r, out, size):
    if kind == "zeros":
        out.extend(bytes(size))
    elif kind == "random":
        out.extend(bytes(r.next() & 255 for _ in range(size)))
    elif kind == "text":
        while len(out) < size:
            out.extend(WORDS[r.next() % len(WORDS)])
    elif kind == "letters":
        n = 2 + r.next() % 10
        out.extend(bytes(97 + r.next() % n for _ in range(size)))
    elif kind == "skewed":
        for _ in range(size):
            v, c = r.next() | 1 << 17, 0
            while v & 1 == 0:
                v, c = v >> 1, c + 1
            out.append(c)
    elif kind == "far":
        while len(out) < size:
            n = 3 + r.next() % 5
            if len(out) > 32768 and r.next() % 4:
                at = len(out) - 32768 + r.next() % 600
                out.extend(out[at:at + n])
            else:
                out.extend(bytes(r.next() & 255 for _ in range(n)))
    elif kind == "mixed":
        while len(out) < size:
            part = bytearray()
            kinds = ["zeros", "random", "text", "letters", "skewed"]
            piece(kinds[r.next() % len(kinds)], r, part, r.next() % 20000)
            out.extend(part)


def generate(kind, seed, size):
    out = bytearray()
    piece(kind, Random(seed), out, size)
    return bytes(out[:size])


def compress(data, level):
    c = zlib.compressobj(level, zlib.DEFLATED, 31, 8, 0)
    return c.compress(data) + c.flush()


for text in [b"", b"a", b"abc", b"hello hello hello", b"hello", b"a" * 300, bytes(range(256))]:
    for level in (1, 8, 9):
        print("raw", text.hex() or "-", level, compress(text, level).hex())
for kind in ["zeros", "random", "text", "letters", "skewed", "far", "mixed"]:
    for seed, size in enumerate([1, 2, 3, 4, 257, 258, 259, 260, 16382, 16383, 16384, 32506, 32767, 32768, 32769, 65274, 65535, 65536, 65537, 98304, 200000, 700000 if kind == "mixed" else 100000]):
        for level in [8] if size < 16000 else [1, 4, 6, 8, 9] if size < 90000 else [2, 3, 5, 7, 8]:
            out = compress(generate(kind, seed, size), level)
            print(kind, seed, size, level, len(out), hashlib.sha256(out).hexdigest())
