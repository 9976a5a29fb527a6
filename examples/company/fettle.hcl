# The hosts of Example Shop: two sites, six roles, forty targets. README.md says
# what is where.
fact "os_codename" {
  type        = string
  default     = "bookworm"
  description = "the release of Debian"
}

# Low to high: what is so everywhere, the people, then what a site and an
# environment have of their own (the groups below).
data = ["data/common.yaml", "data/people.yaml"]

# A step that fails takes the run back: a host is never left in between.
policy {
  on_failure       = "undo"
  on_check_failure = "undo"
}

# What every host has, whatever it is for. The sources of packages, in base, come
# first: a package that is declared before a source does not wait for it.
target_group "all" {
  targets = ["*"]
  layer   = ["base"]
  modules = [
    "base", "names", "trust", "kernel", "time", "logging", "upgrades", "accounts",
    "sudo", "ssh", "firewall", "audit", "mail", "backup", "metrics",
  ]
}

target_group "berlin" {
  labels = { site = "ber" }
  data   = ["data/site/ber.yaml"]
}

target_group "amsterdam" {
  labels = { site = "ams" }
  data   = ["data/site/ams.yaml"]
}

target_group "production" {
  labels = { env = "prod" }
  data   = ["data/env/prod.yaml"]
}

target_group "staging" {
  labels = { env = "staging" }
  data   = ["data/env/staging.yaml"]
  policy {
    on_failure = "stop" # look at it where it stopped
  }
}

# The first of each role gets upgrades a day before the others.
target_group "canaries" {
  targets = ["/[a-z]+1[.].*/"]
  vars    = { upgrade_time = "Mon 04:00" }
}
