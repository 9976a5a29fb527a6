# Grafana from its own repository, behind nginx.
variable "domain" { type = string }
variable "dashboards" {
  type    = list(string)
  default = ["hosts", "postgres", "shop"]
}

apt_source "grafana" {
  uris       = ["https://apt.grafana.com"]
  suites     = ["stable"]
  components = ["main"]
  signed_by  = "/etc/apt/keyrings/grafana.asc"
  after      = [apt_key.grafana]
}
apt_key "grafana" {
  key = file("files/grafana.asc")
}
apt_pin "grafana" {
  packages = ["grafana"]
  pin      = "version 11.*"
  priority = 990
}
package "grafana" {}
file "/etc/grafana/grafana.ini" {
  content = "[server]\nhttp_addr = 127.0.0.1\ndomain = grafana.${var.domain}\n[auth.anonymous]\nenabled = false\n"
  owner   = "root"
  group   = "grafana"
  mode    = "0640"
  after   = [package.grafana]
  notify  = [service.grafana-server.restart]
}
file "/etc/grafana/provisioning/datasources/prometheus.yaml" {
  content = yamlencode({ apiVersion = 1, datasources = [{ name = "Prometheus", type = "prometheus", url = "http://127.0.0.1:9090", isDefault = true }] })
  group   = "grafana"
  after   = [package.grafana]
  notify  = [service.grafana-server.restart]
}
file "/etc/grafana/provisioning/dashboards/shop.yaml" {
  content = yamlencode({ apiVersion = 1, providers = [{ name = "shop", options = { path = "/etc/grafana/dashboards" } }] })
  group   = "grafana"
  after   = [package.grafana]
  notify  = [service.grafana-server.restart]
}
directory "/etc/grafana/dashboards" {
  after = [package.grafana]
}
file "dashboard" {
  for_each = toset(var.dashboards)
  path     = "/etc/grafana/dashboards/${each.key}.json"
  content  = "${jsonencode({ title = title(each.key), uid = each.key, panels = [] })}\n"
  group    = "grafana"
}
service "grafana-server" {
  enabled = true
  running = true
}
file "/etc/nginx/sites-available/grafana.conf" {
  content = "server {\n  listen 80;\n  server_name grafana.${var.domain};\n  location / { proxy_pass http://127.0.0.1:3000; }\n}\n"
  after   = [module.nginx.file["/etc/nginx/nginx.conf"]]
  notify  = [module.nginx.service.nginx.reload]
}
link "/etc/nginx/sites-enabled/grafana.conf" {
  target = "/etc/nginx/sites-available/grafana.conf"
  notify = [module.nginx.service.nginx.reload]
}
