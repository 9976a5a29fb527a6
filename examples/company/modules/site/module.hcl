# The shop as people see it: static pages, and the application behind a proxy.
variable "domain" { type = string }
variable "sites" {
  type = map(object({
    names    = list(string)
    upstream = optional(string)
  }))
  default = {
    shop   = { names = ["www"], upstream = "app" }
    static = { names = ["static", "img"] }
    blog   = { names = ["blog"] }
    status = { names = ["status"] }
  }
}
variable "upstreams" {
  type        = list(string)
  default     = ["127.0.0.1:8080"]
  description = "hosts of the application"
}

# One virtual host: its configuration, switched on by a link, and its directory.
define "vhost" {
  main = "name"
  variable "name" { type = string }
  variable "names" { type = list(string) }
  variable "upstream" {
    type    = string
    default = null
  }

  directory "root" {
    path  = "/srv/www/${var.name}"
    owner = "www-data"
    group = "www-data"
  }
  file "index" {
    path    = "${directory.root.path}/index.html"
    content = "<!doctype html>\n<title>${var.name}</title>\n<p>This is ${var.names[0]}.</p>\n"
    owner   = "www-data"
    group   = "www-data"
  }
  file "conf" {
    path     = "/etc/nginx/sites-available/${var.name}.conf"
    template = "templates/vhost.conf.tmpl"
    vars     = { names = var.names, root = directory.root.path, upstream = var.upstream }
  }
  link "on" {
    path   = "/etc/nginx/sites-enabled/${var.name}.conf"
    target = file.conf.path
  }
}

directory "/srv/www" {}
file "/etc/nginx/conf.d/upstream.conf" {
  content = "upstream app {\n${join("", [for u in var.upstreams : "  server ${u} max_fails=2;\n"])}}\n"
  notify  = [module.nginx.service.nginx.reload]
}
vhost "site" {
  for_each = var.sites
  name     = each.key
  names    = [for n in each.value.names : "${n}.${var.domain}"]
  upstream = each.value.upstream
  after    = [module.nginx.file["/etc/nginx/nginx.conf"], file["/etc/nginx/conf.d/upstream.conf"]]
  notify   = [module.nginx.service.nginx.reload]
}

check "web" {
  http   = "http://127.0.0.1/"
  within = "15s"
}
