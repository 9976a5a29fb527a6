# What is done on several hosts in one go: fettle run NAME, with --dry-run first.
command "restart-web" {
  description = "restarts web servers one after the other, those of staging first"
  part "check" {
    targets = ["role:web"]
    action  = "nginx.check"
  }
  part "staging" {
    targets = ["role:web&label:env=staging"]
    action  = "service-restart"
    params  = { name = "nginx" }
  }
  part "production" {
    targets = ["role:web&label:env=prod"]
    action  = "service-restart"
    params  = { name = "nginx" }
    batch   = 1
  }
}
command "patch" {
  description = "upgrades one package everywhere, a tenth of the hosts at a time"
  targets     = ["*"]
  param "package" {
    description = "its name"
    type        = string
  }
  part "lists" {
    action     = "package-lists"
    max_failed = "10%"
  }
  part "upgrade" {
    action = "package-upgrade"
    params = { name = param.package }
    batch  = "10%"
  }
  part "failed" {
    action     = "units-failed"
    max_failed = "10%"
  }
}
