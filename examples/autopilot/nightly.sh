#!/bin/sh
# One job by its id. Silent when it is done, was done before, or the last run is still at it.
# usage: nightly.sh JOB_ID
said=$("${PYTHON:-python3}" "${RULITH_PYZ:-/srv/rulith/rulith.pyz}" agent --quiet \
  --case-type verified_calculation --business-key "{\"job_id\":\"$1\"}" "nightly check" 2>&1)
status=$?
case $status in
  0|10|15) exit 0 ;;
esac
printf '%s\n' "$said"
exit "$status"
