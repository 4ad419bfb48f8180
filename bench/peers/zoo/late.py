"""The twin of models/flights/late."""

import clicks
from tabular import DeepFM

model = DeepFM()
clicks.fit(model, clicks.adagrad(model.rows))
