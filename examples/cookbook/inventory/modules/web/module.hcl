variable "workers" { type = number }

file "/etc/web-workers" {
  content = "${var.workers} workers for ${target.name} in ${target.labels.env}\n"
}
