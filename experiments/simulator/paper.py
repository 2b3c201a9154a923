"""What is expected of the simulator, for claims.py."""
from claims import Claim


def farthest(*fields):
    return lambda csv: [max(100 * abs(row[field] - 1) for row in csv["hosts"] for field in fields)]


CLAIMS = [
    Claim("bytes", "bytes of the network cards within 3 %", farthest("bytes_ratio", "busiest_ratio"), "at most {:.1f} % away", lambda most: most <= 3),
    Claim("seconds", "seconds of the training within 15 %", farthest("seconds_ratio"), "at most {:.0f} % away", lambda most: most <= 15),
]
