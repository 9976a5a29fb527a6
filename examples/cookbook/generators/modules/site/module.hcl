variable "port" { type = number }

variable "workers" { type = number }

file "conf" {
  path    = "/etc/shop-${var.port}.conf"
  content = "workers ${var.workers}\n"
}

output "address" { value = "127.0.0.1:${var.port}" }
