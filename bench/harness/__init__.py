# SPDX-License-Identifier: Apache-2.0
"""What bench/local, bench/publish, bench/remote and bench/index are made of. Python's standard library only."""
