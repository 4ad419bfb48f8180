from harness.benchmark import INFO, OURS, PEER, Benchmark, Case, Figure, Side

GOALS = {"TensorFlow, TFRecord": 5, "Catamaran, TSV": 5}
FIGURES = [
    Figure("batch128", "batches of 128", "ns"),
    Figure("shuffled", "shuffled in windows of 50,000", "ns"),
    Figure("shuffled128", "shuffled, batches of 128", "ns"),
    Figure("blocks", "the blocks alone, without a pipeline", "ns"),
]

BENCHMARK = Benchmark(
    name="data-read",
    summary="reading CTR rows (a label, 13 numbers, 26 ids) into batches of 2,048 on one core",
    unit="ns",
    per="row",
    sides=[
        Side("Catamaran", OURS, program="bench_data_read"),
        Side("Catamaran, TSV", PEER, program="bench_data_read", args=["--format", "tsv"]),
        Side("TensorFlow, TFRecord", PEER, script="data_read_tensorflow.py",
             environment=".venv-tensorflow"),
        Side("pandas, TSV", PEER, script="data_read_pandas.py", args=["--mode", "csv"],
             environment=".venv-pandas"),
        Side("pandas, TSV by pyarrow", PEER, script="data_read_pandas.py",
             args=["--mode", "csv-pyarrow"], environment=".venv-pandas"),
        Side("pandas, Parquet", INFO, script="data_read_pandas.py", args=["--mode", "parquet"],
             environment=".venv-pandas"),
    ],
    cases=[
        Case("packed", "three columns: f32, f32[13], i64[26]", goals=GOALS, figures=FIGURES,
             skip=["pandas, TSV", "pandas, TSV by pyarrow", "pandas, Parquet"]),
        Case("columns", "40 columns, an id in a list of its own", figures=FIGURES,
             goals={**GOALS, "pandas, TSV": 10, "pandas, TSV by pyarrow": 10}),
    ],
    check_tolerance=1e-5,
    notes="102,400 rows of ctr-train in a file that the system holds in memory; the sums of labels, "
          "numbers and ids are compared before anything is measured. Ours: record files as the writer "
          "makes them by default, through a Pipeline without threads of its own; its checksums are "
          "compared while it reads. TensorFlow: tf.data with a large buffer, tf.train.Examples "
          "parsed a batch at a time, not read into NumPy. pandas gets the types of the columns "
          "and gives one frame, not batches; its reader of Parquet is beside the others for "
          "orientation. All sides have one core.",
)
