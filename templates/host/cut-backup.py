#!/usr/bin/python3
"""Cuts a tar stream from standard input into pieces of whole files, compressed by zstd: each can be unpacked without the others.

Arguments: the folder of the pieces, and the list of what the server has sent (backup_manifest). A stream that ended early, or a file of
another size than in the list, is an error. All pieces one after the other are one tar stream.
"""

import json
import os
import subprocess
import sys
import tarfile

folder, manifest = sys.argv[1:]
# A piece ends after this many bytes of the stream, and the file in which they are. PostgreSQL's files have at most 1 GiB.
LIMIT = 256 * 1024 * 1024
CHUNK = 1024 * 1024


class Piece:
    """A piece that zstd is writing."""

    def __init__(self, number):
        path = os.path.join(folder, f"piece-{number:06d}.tar.zst")
        self.zstd = subprocess.Popen(["zstd", "-q", "-3", "-T0", "-o", path], stdin=subprocess.PIPE)
        self.bytes = 0

    def write(self, data):
        self.zstd.stdin.write(data)
        self.bytes += len(data)

    def end(self):
        self.zstd.stdin.close()
        if self.zstd.wait() != 0:
            sys.exit("zstd cannot write a piece")


def cut(stream, sent):
    """Takes from `sent`, sizes by path, what the stream has."""
    number = 1
    piece = Piece(number)
    for member in stream:
        if piece.bytes >= LIMIT:
            piece.end()
            number += 1
            piece = Piece(number)
        piece.write(member.tobuf(tarfile.GNU_FORMAT))
        if member.isfile():
            with stream.extractfile(member) as content:
                while data := content.read(CHUNK):
                    piece.write(data)
            piece.write(bytes(-member.size % tarfile.BLOCKSIZE))
            if sent.pop(member.name, member.size) != member.size:
                sys.exit(f"{member.name} has not the size that the server has sent")
    piece.write(bytes(2 * tarfile.BLOCKSIZE))
    piece.end()


with open(manifest, encoding="utf-8") as file:
    left = {each["Path"]: each["Size"] for each in json.load(file)["Files"] if "Path" in each}
try:
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|", bufsize=CHUNK) as tar:
        cut(tar, left)
except (tarfile.TarError, OSError) as error:
    sys.exit(f"the stream ends early, or is no tar stream: {error}")
if left:
    sys.exit(f"{len(left)} files that the server has sent are not there, such as {min(left)}")
