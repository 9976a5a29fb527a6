# The same task as a systemd timer and as a cron entry. Prefer the timer: it has a log, limits,
# and a state that checks and monitoring can read.
file "report" {
  path   = "/usr/local/sbin/disk-report"
  source = "files/disk-report"
  mode   = "0755"
}

timer "disk-report" {
  command      = file.report.path
  schedule     = "*-*-* 06:00:00"
  random_delay = "10min" # not all hosts in the same second
  persistent   = true    # after a reboot, run once if a run was missed
  summary      = "Report of the disks"
}

cron "disk-report-cron" {
  schedule = "30 6 * * 1"
  user     = "root"
  command  = file.report.path
  env      = { MAILTO = "ops@example.org" }
}

logrotate "disk-report" {
  paths   = ["/var/log/disk-report.log"]
  options = ["weekly", "rotate 8", "compress", "missingok", "notifempty"]
}

check "timer" {
  unit = "disk-report.timer"
}
