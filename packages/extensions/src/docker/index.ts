export { createDockerExtension, type DockerOptions } from "./extension.ts";
