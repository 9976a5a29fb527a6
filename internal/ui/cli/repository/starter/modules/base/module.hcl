# What every machine gets.
variable "greeting" {
  type    = string
  default = "Hello"
}

directory "/srv/hello" {
  mode = "0755"
}

file "motd" {
  path     = "/srv/hello/motd"
  template = "templates/motd.tmpl"
  vars     = { greeting = var.greeting }
}

file "/srv/hello/README" {
  source = "files/README"
}
