"""What other systems say about each op. See tools/oracle.

`oracle.py` holds the register, `compare.py` the comparison, `report.py` what is printed; every
other module is a group of ops: functions marked @oracle("name") that compute the op with PyTorch
or NumPy. A newcomer adds a function to the module of the op's group.
"""
