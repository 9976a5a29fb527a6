variable "service" { type = string }
variable "workers" { type = number }

file "/etc/holding/service.conf" {
  content = "${var.service} with ${var.workers} workers\n"
}
