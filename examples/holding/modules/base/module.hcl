variable "banner" {
  type    = string
  default = ""
}

directory "/etc/holding" {}

file "/etc/holding/host" {
  content = "${target.labels.role} of ${target.labels.organization} in ${environment.name}\n"
}

file "/etc/issue.net" {
  content = "${var.banner}\n"
  when    = var.banner != ""
}
