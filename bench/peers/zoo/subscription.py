"""The twin of models/bank/subscription."""

import clicks
from tabular import DeepFM

model = DeepFM()
clicks.fit(model, clicks.adagrad(model.rows))
