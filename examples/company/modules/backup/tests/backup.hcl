test "how much is kept" {
  vars = { backup_paths = ["/srv", "/etc"], backup_keep = { daily = 2, weekly = 1 } }
  expect {
    steps = ["UNIT backup-verify.timer*", "COPY * /usr/local/sbin/backup mode=0755", "COPY * /etc/restic/env mode=0600", "UNIT backup.timer*"]
  }
}
