#!/usr/bin/env bash
# Images and labels as idx files give the model of the same numbers as .npy: plain, packed, and over several processes.
. "$(dirname "$0")/cli.bash"

python3 - <<'P'
import random
import struct
random.seed(11)
rows, high, wide = 90, 5, 4
labels = [random.choice((3, 8)) for _ in range(rows)]
# Most pixels are empty, as at an image's border; the stroke of each class is brighter in its own half, with noise.
images = [[0 if random.random() < 0.4 else min(255, int(random.random() * 160) + 60 * ((k < 10) == (label == 3)))
           for k in range(high * wide)] for label in labels]


def npy(path, shape, numbers):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }" % (shape,)
    header += " " * (117 - len(header)) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack("<%dd" % len(numbers), *numbers))


def idx(path, sizes, numbers):
    with open(path, "wb") as out:
        out.write(bytes([0, 0, 8, len(sizes)]) + struct.pack(">%dI" % len(sizes), *sizes) + bytes(numbers))


pixels = [pixel for image in images for pixel in image]
npy("images.npy", (rows, high * wide), pixels)
npy("labels.npy", (rows,), labels)
idx("images.idx", (rows, high, wide), pixels)
idx("labels.idx", (rows,), labels)
P
for name in images labels; do
    gzip -k $name.idx
    xz -k $name.idx
    zstd -q $name.idx
done

train=(train logistic --lambda-ratio 0.05 --workers 4 --quiet)
# same NAME: checks that the last model is that of the .npy files, to the last bit.
same() {
    "$hawser" info --coefficients one.st | cmp -s - expected || complain "$1: other coefficients"
    rm -f one.st
}
code 0 "$hawser" "${train[@]}" images.npy --target labels.npy -o one.st
"$hawser" info --coefficients one.st >expected
(($(wc -l <expected) > 3)) || complain "an empty model: $(cat expected)"
for packed in "" .gz .xz .zst; do
    code 0 "$hawser" "${train[@]}" images.idx$packed --target labels.idx$packed -o one.st
    same "idx$packed"
done
code 0 "$hawser" "${train[@]}" images.idx --target labels.npy --format idx --threads 1 -o one.st
same "one thread"
for nodes in 2 3; do
    code 0 "$hawser" run -n $nodes -- "${train[@]}" images.idx --target labels.idx -o one.st
    same "$nodes processes"
done
code 0 "$hawser" run -n 2 -- "${train[@]}" images.idx.gz --target labels.idx.gz -o one.st
same "2 processes, packed"

code 0 "$hawser" data info images.idx --target labels.idx --json
json out 'o["format"] == "idx" and o["rows"] == 90 and o["columns"] == 20'
code 3 "$hawser" "${train[@]}" images.idx
says "target"
head -c 1000 images.idx >cut.idx
code 3 "$hawser" "${train[@]}" cut.idx --target labels.idx
says "cut.idx: the header declares 90 x 20 numbers, but the file has 984 bytes of them"
code 3 "$hawser" run -n 2 -- "${train[@]}" cut.idx --target labels.idx
has err "cut.idx: the header declares 90 x 20 numbers"
gzip -k cut.idx
code 3 "$hawser" "${train[@]}" cut.idx.gz --target labels.idx
says "cut.idx.gz: the header declares 90 x 20 numbers, but the file has 984 bytes of them"
code 3 "$hawser" "${train[@]}" images.idx --target images.idx
says "images.idx: a file of the target must have one number per row"
finish
