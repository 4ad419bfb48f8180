"""The twin of models/taxi/tip."""

import clicks
from tabular import DeepFM

model = DeepFM()
clicks.fit(model, clicks.adagrad(model.rows))
