# SPDX-License-Identifier: Apache-2.0
"""What bench/local and bench/publish are made of. Python's standard library only."""
