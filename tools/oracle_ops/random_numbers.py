from .oracle import without

without("random: its distribution is tested by itself", "uniform", "normal", "dropout",
        "truncated_normal", "bernoulli", "categorical", "randint", "permutation", "alpha_dropout",
        "split_key", "log_uniform_sample")
