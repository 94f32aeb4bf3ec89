import{K as t,w as e}from"./chunk-2Z6O34JP.js";function i(){return e(t,{title:"Designs & indexes",children:e("p",{children:"Not made yet."})})}export{i as default};
