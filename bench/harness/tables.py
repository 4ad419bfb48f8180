"""What the benchmarks of tables share."""

# Memory that sides get from malloc lies in huge pages where the system offers them, as our
# tables' does: glibc's way, and PyTorch's.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE": "1"}


def key_limit(case, parts):
    """What bench_table_limit measured."""
    return parts["limit"]["key"]
