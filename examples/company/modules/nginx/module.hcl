# nginx, with nothing but what others add to it.
variable "nginx_workers" {
  type    = number
  default = 4
}

package "nginx" {}
file "/etc/nginx/nginx.conf" {
  template = "templates/nginx.conf.tmpl"
  vars     = { workers = var.nginx_workers }
  validate = "nginx -t"
  notify   = [service.nginx.reload]
  after    = [package.nginx]
}
file "/etc/nginx/conf.d/tls.conf" {
  content = "ssl_protocols TLSv1.2 TLSv1.3;\nssl_session_cache shared:shop:10m;\nserver_tokens off;\n"
  notify  = [service.nginx.reload]
  before  = [file["/etc/nginx/nginx.conf"]]
}
link "/etc/nginx/sites-enabled/default" {
  ensure = "absent"
  after  = [package.nginx]
  notify = [service.nginx.reload]
}
service "nginx" {
  enabled = true
  running = true
}
logrotate "nginx" {
  paths      = ["/var/log/nginx/*.log"]
  options    = ["daily", "rotate 14", "compress", "delaycompress", "missingok", "notifempty", "create 0640 www-data adm", "sharedscripts"]
  package    = false
  postrotate = "invoke-rc.d nginx rotate >/dev/null 2>&1"
  after      = [package.nginx]
}
