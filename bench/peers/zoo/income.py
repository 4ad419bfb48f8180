"""The twin of models/adult/income."""

import clicks
from tabular import DeepFM

model = DeepFM()
clicks.fit(model, clicks.adagrad(model.rows))
