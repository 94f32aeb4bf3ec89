import{K as e,w as t}from"./chunk-2Z6O34JP.js";function a(){return t(e,{title:"Backups",children:t("p",{children:"Not made yet."})})}export{a as default};
