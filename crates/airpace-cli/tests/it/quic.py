"""A download as QUIC looks from outside: short headers with the spin bit (RFC 9000 §17.4), an answer to every second
packet, and a window that halves on loss.

    quic.py server ADDRESS SECONDS    sends from port 443 to whoever has sent to it
    quic.py client SERVER SECONDS     receives from it, and prints Mbit/s
"""

import socket
import struct
import sys
import time

PORT = 443
FIXED, SPIN = 0x40, 0x20
HEADER = struct.Struct("!BQ")
ANSWER = struct.Struct("!BQQ")
PAYLOAD = b"\0" * 1191


def server(address: str, seconds: float) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, PORT))
    sock.settimeout(seconds)
    _, client = sock.recvfrom(2000)
    end = time.monotonic() + seconds
    sock.settimeout(0.2)
    sent = highest = arrived = recovered = spin = 0
    window = 10.0
    while time.monotonic() < end:
        while sent - highest < window:
            sock.sendto(HEADER.pack(FIXED | spin, sent) + PAYLOAD, client)
            sent += 1
        try:
            packet, _ = sock.recvfrom(2000)
        except TimeoutError:
            # All that was on its way is lost.
            highest, window = sent, 10.0
            continue
        first, number, count = ANSWER.unpack(packet)
        # The server reflects the bit, and the client inverts it.
        spin = first & SPIN
        if number < highest:
            continue
        has_lost = number + 1 - highest > count - arrived
        window += (number + 1 - highest) / window if sent > 2000 else number + 1 - highest
        highest, arrived = number + 1, count
        if has_lost and highest > recovered:
            window, recovered = max(window / 2, 4.0), sent


def client(address: str, seconds: float) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((address, PORT))
    sock.settimeout(0.5)
    sock.send(ANSWER.pack(FIXED, 0, 0))
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            packet = sock.recv(2000)
        except TimeoutError:
            continue
        first, number = HEADER.unpack(packet[: HEADER.size])
        count += 1
        if count % 2 == 0:
            sock.send(ANSWER.pack(FIXED | (~first & SPIN), number, count))
    print(f"{count * (HEADER.size + len(PAYLOAD)) * 8 / seconds / 1e6:.1f}")


if __name__ == "__main__":
    {"server": server, "client": client}[sys.argv[1]](sys.argv[2], float(sys.argv[3]))
