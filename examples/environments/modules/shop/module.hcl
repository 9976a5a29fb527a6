variable "workers" { type = number }
variable "log_level" { type = string }
variable "banner" {
  type    = string
  default = ""
}

directory "/etc/shop" {}

file "/etc/shop/shop.json" {
  content = "${jsonencode({
    environment = environment.name
    url         = "http://shop.${environment.domain}/"
    workers     = var.workers
    log_level   = var.log_level
  })}\n"
}

file "/etc/shop/banner" {
  content = "${var.banner}\n"
  when    = var.banner != ""
}
