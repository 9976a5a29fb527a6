# Releases side by side, and a link to the active one: a rollback only changes the link.
variable "version" { type = string }

user "app" {
  system = true
  home   = "/srv/app"
  shell  = "/usr/sbin/nologin"
}

directory "/srv/app" {}

directory "/srv/app/releases" {}

directory "release" {
  path   = "/srv/app/releases/${var.version}"
  source = "files/release"
}

link "/srv/app/current" {
  target = "releases/${var.version}"
  after  = [directory.release]
  notify = [service.app.restart]
}

file "unit" {
  path   = "/etc/systemd/system/app.service"
  source = "files/app.service"
  notify = [service.app.restart]
}

service "app" {
  enabled = true
  running = true
  after   = [link["/srv/app/current"], file.unit, user.app]
}

check "app" {
  unit = "app.service"
}
