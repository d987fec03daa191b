#!/usr/bin/env bash
# A real Slurm on this machine alone, for the tests in this folder: one node, no accounting, no systemd.
#     tests/slurm/start.sh          install what is missing (Debian, Ubuntu), start it, wait until it takes jobs
#     tests/slurm/start.sh stop     end it
# Two partitions: jobs in `high` preempt and requeue those in `low`. Made for tests: all waiting times are short.
set -euo pipefail

root=${BENCHMARK_SLURM:-/tmp/benchmark-slurm}
export SLURM_CONF="$root/slurm.conf"
socket="$root/munge.socket"

stop() {
    for daemon in slurmd slurmctld munged; do
        [ -s "$root/$daemon.pid" ] && kill "$(cat "$root/$daemon.pid")" 2>/dev/null || true
        rm -f "$root/$daemon.pid"
    done
}

install_packages() {
    command -v slurmctld slurmd sbatch munged >/dev/null && return
    if [ ! -e /usr/sbin/policy-rc.d ]; then # the services of the packages stay off
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
        chmod 755 /usr/sbin/policy-rc.d
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null
}

configure() {
    local node
    node=$(hostname -s)
    mkdir -p "$root/state" "$root/spool"
    head -c 1024 /dev/urandom >"$root/munge.key"
    chmod 400 "$root/munge.key"
    cat >"$SLURM_CONF" <<CONF
ClusterName=tests
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$socket,cred_expire=5
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool
SlurmctldPidFile=$root/slurmctld.pid
SlurmdPidFile=$root/slurmd.pid
SlurmctldLogFile=$root/slurmctld.log
SlurmdLogFile=$root/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=0,requeue_delay=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
KillWait=3
MinJobAge=20
InactiveLimit=0
NodeName=$node NodeAddr=127.0.0.1 CPUs=4 RealMemory=8000 State=UNKNOWN
PartitionName=low Nodes=$node Default=YES PriorityTier=1 PreemptMode=REQUEUE MaxTime=60 State=UP
PartitionName=high Nodes=$node PriorityTier=10 PreemptMode=OFF MaxTime=60 State=UP
CONF
}

start() {
    # Fresh folders and keys of root's own pass munge's checks wherever they lie with --force.
    munged --force --socket "$socket" --key-file "$root/munge.key" --pid-file "$root/munged.pid" \
        --log-file "$root/munged.log" --seed-file "$root/munge.seed" 2>/dev/null
    slurmctld -c
    slurmd
    for _ in $(seq 100); do
        sinfo --noheader --format %T 2>/dev/null | grep -q idle && return
        sleep 0.2
    done
    tail -n 20 "$root"/*.log >&2
    echo "start.sh: Slurm does not take jobs; its logs are above, and in $root" >&2
    return 1
}

[ "$(id -u)" = 0 ] || { echo "start.sh: run it as root, best in a container" >&2; exit 1; }
mkdir -p "$root"
stop
[ "${1:-}" = stop ] && exit 0
install_packages
configure
start
echo "Slurm takes jobs: export SLURM_CONF=$SLURM_CONF"
