# Who may become root, and what for.
package "sudo" {}
sudoers "ops" {
  rules   = ["Defaults:%team-ops timestamp_timeout=30", "%team-ops ALL=(ALL:ALL) ALL"]
  package = false
  after   = [package.sudo]
}
sudoers "dba" {
  rules   = ["%team-dba ALL=(postgres) NOPASSWD: ALL", "%team-dba ALL=(root) NOPASSWD: /usr/bin/systemctl reload postgresql"]
  package = false
  after   = [package.sudo]
}
sudoers "monitoring" {
  rules   = ["prometheus ALL=(root) NOPASSWD: /usr/sbin/needrestart -b -k"]
  package = false
  after   = [package.sudo]
}
file_line "log-commands" {
  path   = "/etc/sudo.conf"
  match  = "^#?Set disable_coredump"
  line   = "Set disable_coredump true"
  create = true
  after  = [package.sudo]
}
