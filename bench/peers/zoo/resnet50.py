"""ResNet-50 by PyTorch and by models/imagenet/resnet50.ctm, with the same weights.

    resnet50.py [--catamaran PROGRAM] [--size 224]

Makes random weights (those of batch norm too) with the names that torchvision gives them, saves them
as a safetensors file, reads that by `catamaran import`, runs both on the same images and compares.
Ends with 1 if a logit differs by more than 1e-4 of the largest.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.downsample = None
        if inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        inputs = 64
        for k, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 1):
            layer = []
            for b in range(blocks):
                layer.append(Bottleneck(inputs, width, 2 if b == 0 and k > 1 else 1))
                inputs = 4 * width
            setattr(self, f"layer{k}", nn.Sequential(*layer))
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def write_safetensors(path, tensors):
    names = {torch.float32: "F32", torch.int64: "I64"}
    header, chunks, at = {}, [], 0
    for name, tensor in tensors.items():
        data = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(data)]}
        chunks.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(chunks)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catamaran", default=os.environ.get(
        "CATAMARAN", os.path.join(TREE, "build/release/bin/catamaran")))
    parser.add_argument("--size", type=int, default=224, help="height and width of the images")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = ResNet50().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    parameters = sum(p.numel() for p in model.parameters())
    image = torch.randn(2, 3, options.size, options.size)
    with torch.no_grad():
        wanted = model(image).numpy()

    program = os.path.join(TREE, "models/imagenet/resnet50.ctm")
    with tempfile.TemporaryDirectory() as folder:
        weights, state, fed, fetched = (os.path.join(folder, name) for name in (
            "resnet50.safetensors", "state", "image.npy", "logits.npy"))
        write_safetensors(weights, model.state_dict())
        np.save(fed, image.numpy())
        subprocess.run([options.catamaran, "import", program, weights, "--out", state, "--names",
                        program.replace(".ctm", ".names")], check=True)
        subprocess.run([options.catamaran, "run", program, "infer", "--state", state, "--feed",
                        f"image={fed}", "--fetch", f"out0={fetched}"], check=True)
        found = np.load(fetched)
    difference = np.abs(found - wanted).max() / np.abs(wanted).max()
    print(f"resnet50: {parameters} parameters, largest difference of logits {difference:.2e} of the "
          f"largest logit, same classes: {bool((found.argmax(1) == wanted.argmax(1)).all())}")
    sys.exit(1 if difference > 1e-4 else 0)


main()
