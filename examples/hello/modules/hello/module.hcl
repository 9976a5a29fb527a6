variable "greeting" { type = string }

directory "/srv/hello" {}

file "/srv/hello/motd" {
  content = "${var.greeting} from fettle.\n"
}
