"""The twin of models/images/fashion_resnet."""

import torch
import torch.nn.functional as F

import images
import twin

t = twin.Twin()


class Block(torch.nn.Module):
    def __init__(self, path, stride):
        super().__init__()
        self.a = images.conv_norm(t, path + ".two.a", stride=stride, padding=1)
        self.b = images.conv_norm(t, path + ".two.b", padding=1)
        widens = path + ".conv_norm.conv.w" in t.weights
        self.past = (images.conv_norm(t, path + ".conv_norm", stride=stride) if widens
                     else torch.nn.Identity())

    def forward(self, x):
        return F.relu(self.past(x) + self.b(F.relu(self.a(x))))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = images.conv_norm(t, "stem", padding=1)
        self.blocks = torch.nn.Sequential(Block("r1", 1), Block("r2", 2), Block("r3", 1),
                                          Block("r4", 1))
        self.head = t.linear("head")
        self.seen = 0

    def forward(self, image):
        x = ((image / 255 - 0.286) / 0.353)[:, None]
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        return self.head(self.blocks(x).mean((2, 3)))

    def augmented(self, image):
        n = torch.arange(self.seen, self.seen + len(image))
        self.seen += len(image)
        mirror = n * 7919 % 10007 < 5003
        down, right = n * 6101 % 10009 * 3 // 10009, n * 3571 % 10037 * 3 // 10037
        x = F.pad(torch.where(mirror[:, None, None], image.flip(2), image), (1, 1, 1, 1))
        lines = torch.arange(28)
        x = x.gather(1, (down[:, None] + lines)[:, :, None].expand(-1, -1, 30))
        return x.gather(2, (right[:, None] + lines)[:, None, :].expand(-1, 28, -1))


model = Net()


def loss(batch):
    y = model(model.augmented(twin.real(batch["image"])))
    return F.cross_entropy(y, batch["label"].long(), label_smoothing=0.1)


def predict(batch):
    image = twin.real(batch["image"])
    return model(image) + model(image.flip(2))


sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.0005)
t.fit(model, [sgd], loss, predict,
      schedulers=[images.cosine(sgd, 7740, 774)])
