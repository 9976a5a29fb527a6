# The application of the shop: a release in a directory of its own, a link to the
# one that runs, workers and jobs.
variable "shop_release" { type = string }
variable "shop_url" { type = string }
variable "domain" { type = string }
variable "database" {
  type    = string
  default = "db1.ber.example.net"
}
variable "workers" {
  type        = map(object({ queue = string, memory = optional(string, "512M") }))
  description = "processes beside the web server, by name"
  default = {
    mail    = { queue = "mail" }
    orders  = { queue = "orders", memory = "1G" }
    images  = { queue = "images", memory = "2G" }
    reports = { queue = "reports" }
  }
}

locals {
  env = {
    DATABASE_HOST = var.database
    REDIS_URL     = "redis://127.0.0.1:6379/0"
    SHOP_RELEASE  = var.shop_release
    SHOP_URL      = var.shop_url
    MAIL_DOMAIN   = var.domain
  }
}

package "runtime" {
  names = ["python3", "python3-venv", "libpq5"]
}
directory "/srv/shop/releases" {}
directory "release" {
  path   = "/srv/shop/releases/${var.shop_release}"
  source = "files/release"
}
link "/srv/shop/current" {
  target = directory.release.path
}

daemon "shop-web" {
  command = "/srv/shop/current/bin/shop web --listen 127.0.0.1:8000"
  env     = merge(local.env, { WEB_CONCURRENCY = "8" })
  memory  = "2G"
  state   = "shop"
  after   = [link["/srv/shop/current"], package.runtime]
}
daemon "worker" {
  for_each = var.workers
  name     = "shop-${each.key}"
  command  = "/srv/shop/current/bin/shop work --queue ${each.value.queue}"
  env      = merge(local.env, { QUEUE = each.value.queue })
  memory   = each.value.memory
  after    = [link["/srv/shop/current"], package.runtime]
}

timer "shop-cleanup" {
  schedule = "*-*-* 03:10:00"
  command  = "/srv/shop/current/bin/shop cleanup"
  user     = "shop-web"
  after    = [daemon.shop-web]
}
timer "shop-prices" {
  every   = "15min"
  command = "/srv/shop/current/bin/shop prices"
  user    = "shop-web"
  after   = [daemon.shop-web]
}

file "/etc/nginx/sites-available/shop.conf" {
  template = "templates/shop.conf.tmpl"
  vars     = { release = var.shop_release }
  after    = [module.nginx.file["/etc/nginx/nginx.conf"]]
  notify   = [module.nginx.service.nginx.reload]
}
link "/etc/nginx/sites-enabled/shop.conf" {
  target = "/etc/nginx/sites-available/shop.conf"
  notify = [module.nginx.service.nginx.reload]
}
check "shop" {
  http   = "http://127.0.0.1:8080/health"
  within = "30s"
}
