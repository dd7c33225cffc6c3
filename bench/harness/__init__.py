# SPDX-License-Identifier: Apache-2.0
"""What bench/local, bench/publish and bench/remote are made of. Python's standard library only."""
