"""placeholder"""
def run_files(files, limits, as_json): return 0
